try {
  process.exit(6);
} catch {
  console.log("caught");
} finally {
  console.log("finally");
}
