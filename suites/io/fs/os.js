const os = require("node:os");
console.log(JSON.stringify(os.EOL), os.platform() === process.platform, os.arch() === process.arch, os.type().length > 0, os.endianness());
process.env.TMPDIR = "/some/where/";
console.log(os.tmpdir());
process.env.HOME = "/my/home";
console.log(os.homedir());
console.log(os.hostname().length > 0, os.release().length > 0, os.totalmem() > os.freemem(), os.cpus().length > 0);
console.log(os.availableParallelism() > 0, os.constants.signals.SIGINT, os.constants.signals.SIGTERM, os.devNull, `${os.platform}` === os.platform());
console.log(os.version().length > 0, os.machine().length > 0);
