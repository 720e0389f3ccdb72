const before = process.umask(0o22);
console.log(process.umask(), process.umask("77"), process.umask(), process.umask(before));
for (const mask of ["abc", -1, 1.5, {}, "8", ""]) {
  try {
    console.log(process.umask(mask));
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
