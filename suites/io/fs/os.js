const os = require("node:os");
console.log(JSON.stringify(os.EOL), os.platform(), os.arch(), os.type(), os.endianness(), os.tmpdir());
console.log(os.hostname().length > 0, os.release().length > 0, os.totalmem() > os.freemem(), os.cpus().length > 0);
console.log(os.availableParallelism() > 0, os.constants.signals.SIGINT, os.constants.signals.SIGTERM, os.devNull, `${os.platform}`);
console.log(os.version().length > 0, os.machine());
