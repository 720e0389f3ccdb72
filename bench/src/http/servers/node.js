// A server, in this process or in as many workers as the argument says. Writes its port, and serves until standard
// input ends.
'use strict';

const cluster = require('node:cluster');
const http = require('node:http');

function serve(listening) {
  // There is no timer for anybody.
  const options = { noDelay: true, keepAliveTimeout: 0, headersTimeout: 0, requestTimeout: 0 };
  const server = http.createServer(options, (request, response) => {
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': 13 });
    response.end('Hello, world!');
  });
  server.listen({ port: 0, host: '127.0.0.1', backlog: 1024 }, () => listening(server.address().port));
}

const workers = Number(process.argv[2] ?? 0);
if (cluster.isPrimary) {
  process.stdin.on('end', () => process.exit()).resume();
}
if (workers === 0 || cluster.isWorker) {
  serve(port => cluster.isWorker || console.log(port));
} else {
  let left = workers;
  // A port that is chosen is the same for all workers.
  cluster.on('listening', (_, { port }) => {
    left -= 1;
    if (left === 0) console.log(port);
  });
  for (let worker = 0; worker < workers; worker += 1) cluster.fork();
}
