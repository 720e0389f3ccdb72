process.exitCode = 3;
process.exit(null);
