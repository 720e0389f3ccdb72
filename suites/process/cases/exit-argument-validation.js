for (const code of ["x", 1.5, {}, true, 1n]) {
  try {
    process.exit(code);
  } catch (error) {
    console.log(error.name, error.code, error.message);
  }
}
process.exit("5");
