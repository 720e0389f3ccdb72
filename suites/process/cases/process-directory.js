const cwd = process.cwd();
process.chdir("/");
console.log(process.cwd());
for (const directory of [undefined, 1, "no-such-directory"]) {
  try {
    process.chdir(directory);
  } catch (error) {
    const { name, code, message, path, dest, syscall, errno } = error;
    console.log(name, code, message, path, dest, syscall, errno);
  }
}
process.chdir(cwd);
console.log(process.cwd() === cwd);
