for (const code of ["x", 1.5, "5", null, undefined, "", {}, true, 1n, "0x10", " 7 ", NaN, "1.5", [], Infinity]) {
  try {
    process.exitCode = code;
    console.log(typeof code, code, "is", process.exitCode);
  } catch (error) {
    console.log(typeof code, code, error.name, error.code, error.message);
  }
}
process.exitCode = undefined;
