// Sockets: callbacks of descriptors, and of closes.
import net from 'node:net';

const server = net.createServer(socket => socket.pipe(socket));
server.listen(0, '127.0.0.1', () => {
    const socket = net.connect(server.address().port, '127.0.0.1');
    let left = 20;
    socket.on('connect', () => socket.write('ping'));
    socket.on('data', data => {
        left -= 1;
        if (left > 0) {
            socket.write(data);
        } else {
            socket.end();
        }
    });
    socket.on('close', () => server.close());
});
