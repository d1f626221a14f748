// `many ADDRESS PORT COUNT`: opens COUNT connections one after the other, and prints their times in microseconds, sorted, as JSON. `until
// ADDRESS PORT NAME`: connects until the reply begins with the name.
import net from 'node:net';

const [mode, address, port, argument] = process.argv.slice(2);

function connect() {
  return new Promise((resolve, reject) => {
    const start = performance.now();
    const socket = net.connect({ host: address, port: Number(port) });
    socket.once('error', reject);
    socket.once('connect', () => {
      const taken = performance.now() - start;
      socket.once('close', () => resolve(taken * 1_000));
      // Ends the connection by a reset, so that no socket stays in TIME_WAIT and ports do not run out.
      socket.resetAndDestroy();
    });
  });
}

function ask() {
  return new Promise((resolve) => {
    const socket = net.connect({ host: address, port: Number(port) });
    let text = '';
    const timer = setTimeout(() => finish('timeout'), 250);
    const finish = (result) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    socket.once('connect', () => socket.write('go'));
    socket.on('data', (data) => (text += data));
    socket.once('end', () => finish(text));
    socket.once('error', (error) => finish(error.code));
  });
}

if (mode === 'many') {
  for (let warm = 0; warm < 300; warm++) await connect();
  const times = [];
  for (let count = 0; count < Number(argument); count++) times.push(await connect());
  process.stdout.write(JSON.stringify(times.sort((a, b) => a - b)));
} else {
  while (!(await ask()).startsWith(argument)) await new Promise((resolve) => setTimeout(resolve, 100));
}
process.exit();
