// The two ends of a test. `server NAME PORT` answers every line of a connection, and every datagram, with its name, the client's address
// and port, and the number of octets it received; to "send N" it answers with N octets. `client` reads commands from standard input, one JSON value a line, and answers each with
// one line: {"op":"open","count":9,"address":...,"port":...} opens connections, "ask" sends one request over each of them, "close" closes
// them; "download" asks for octets over each of them; {"op":"udp",...,"ports":[...],"octets":9} sends one datagram from each port; "rate" opens and closes connections for some
// milliseconds.
import { Buffer } from 'node:buffer';
import dgram from 'node:dgram';
import net from 'node:net';
import readline from 'node:readline';

const plain = (address) => address.replace(/^::ffff:/, '');

/** The octets that a request "send N" asks for, after its own first word. */
function sent(request) {
  const count = /^send (\d+)/.exec(request.subarray(0, 20).toString('latin1'))?.[1];
  return count === undefined ? undefined : Buffer.alloc(Number(count), 'x').fill('\n', Number(count) - 1);
}

function serve(name, port) {
  const tcp = net.createServer((socket) => {
    let octets = 0;
    socket.on('error', () => undefined);
    socket.on('data', (data) => {
      octets += data.length;
      if (data.at(-1) !== 10) return;
      socket.write(sent(data) ?? `${name} ${plain(socket.remoteAddress)} ${socket.remotePort} ${octets}\n`);
      octets = 0;
    });
  });
  const udp = dgram.createSocket({ type: 'udp6', ipv6Only: false });
  udp.on('message', (data, from) =>
    udp.send(sent(data) ?? `${name} ${plain(from.address)} ${from.port} ${data.length}`, from.port, from.address, () => undefined),
  );
  tcp.listen(port, '::', () => udp.bind(port, '::', () => console.log('ready')));
}

/** Milliseconds to wait for an answer. Enough on a busy machine too. */
const patience = 20_000;

let connections = [];

function open({ address, port, timeout = patience }) {
  return new Promise((resolve) => {
    const socket = net.connect({ host: address, port });
    const connection = { socket, error: undefined, waiting: undefined };
    const timer = setTimeout(() => socket.destroy(new Error('TIMEOUT')), timeout);
    socket.setNoDelay(true);
    socket.on('connect', () => {
      clearTimeout(timer);
      resolve(connection);
    });
    socket.on('data', (data) => connection.waiting?.(String(data).trim()));
    socket.on('error', (error) => {
      clearTimeout(timer);
      connection.error = error.code ?? error.message;
      connection.waiting?.(connection.error);
      resolve(connection);
    });
    socket.on('close', () => {
      connection.error ??= 'CLOSED';
      connection.waiting?.(connection.error);
    });
  });
}

function ask(connection, octets, timeout) {
  if (connection.error !== undefined) return Promise.resolve(connection.error);
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve('TIMEOUT'), timeout);
    connection.waiting = (text) => {
      clearTimeout(timer);
      connection.waiting = undefined;
      resolve(text);
    };
    connection.socket.write(Buffer.alloc(octets, 'x').fill('\n', octets - 1));
  });
}

/** Asks for so many octets and returns how many came in time. */
function download({ socket, error }, octets, timeout) {
  if (error !== undefined) return Promise.resolve(0);
  return new Promise((resolve) => {
    let count = 0;
    const finish = () => resolve(count);
    const timer = setTimeout(finish, timeout);
    socket.on('data', (data) => {
      count += data.length;
      if (count < octets) return;
      clearTimeout(timer);
      finish();
    });
    socket.write(`send ${octets}\n`);
  });
}

function datagram({ address, port, octets, timeout, request }, localPort) {
  return new Promise((resolve) => {
    const socket = dgram.createSocket(address.includes(':') ? 'udp6' : 'udp4');
    let repeat;
    const finish = (text) => {
      clearTimeout(timer);
      clearInterval(repeat);
      socket.close();
      resolve(text);
    };
    const timer = setTimeout(() => finish('TIMEOUT'), timeout);
    socket.on('error', (error) => finish(error.code));
    socket.on('message', (data) => finish(String(data)));
    socket.bind(localPort, () => {
      // UDP clients repeat a datagram: some get lost, and the first that is too long for the path always does.
      const send = () => socket.send(request ?? Buffer.alloc(octets, 'x'), port, address, () => undefined);
      send();
      repeat = setInterval(send, 300);
    });
  });
}

/** Opens connections one after the other. Returns their number and the median duration in microseconds. */
async function rate({ address, port, milliseconds }) {
  const times = [];
  const end = performance.now() + milliseconds;
  while (performance.now() < end) {
    const begin = performance.now();
    const connection = await open({ address, port });
    const answer = await ask(connection, 1, patience);
    if (!answer.includes(' ')) throw new Error(answer);
    times.push(Math.round((performance.now() - begin) * 1_000));
    connection.socket.resetAndDestroy();
  }
  times.sort((a, b) => a - b);
  return { connections: times.length, median: times[times.length >> 1] ?? 0 };
}

async function carryOut(command) {
  switch (command.op) {
    case 'open':
      connections.push(...(await Promise.all(Array.from({ length: command.count }, () => open(command)))));
      return connections.filter(({ error }) => error === undefined).length;
    case 'ask':
      return await Promise.all(connections.map((connection) => ask(connection, command.octets ?? 1, command.timeout ?? patience)));
    case 'download':
      return await Promise.all(connections.map((connection) => download(connection, command.octets, command.timeout ?? patience)));
    case 'close':
      for (const { socket } of connections) socket.destroy();
      connections = [];
      return 0;
    case 'udp':
      return await Promise.all(command.ports.map((port) => datagram({ octets: 1, timeout: patience, ...command }, port)));
    case 'rate':
      return await rate(command);
    default:
      throw new Error(command.op);
  }
}

const [, , role, name, port] = process.argv;
if (role === 'server') serve(name, Number(port));
else {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const answer = await carryOut(JSON.parse(line)).catch((error) => ({ failed: String(error) }));
    console.log(JSON.stringify(answer));
  }
  process.exit(0);
}
