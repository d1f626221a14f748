// The two ends of a test. `server NAME PORT PORT` answers each connection and datagram with its name (and ":port" on the second port) and
// the client's address. `hold` keeps connections open. `pods JSON PORT` does so on each address of a list, with the address as its name. `client JSON` makes a list of
// requests at the same time and prints their results.
import dgram from 'node:dgram';
import net from 'node:net';
import { createInterface } from 'node:readline';

const plain = (address) => address.replace(/^::ffff:/, '');

function serve(name, port) {
  const answer = (address) => `${name} ${plain(address)}`;
  net
    .createServer((socket) => {
      socket.on('error', () => undefined);
      // "stay" asks for an echo that goes on, for tests of running connections.
      socket.on('data', (data) =>
        String(data).startsWith('stay') ? socket.write(answer(socket.remoteAddress)) : socket.end(answer(socket.remoteAddress)),
      );
    })
    .listen(port, '::');
  const udp = dgram.createSocket({ type: 'udp6', ipv6Only: false });
  udp.on('message', (_, from) => udp.send(answer(from.address), from.port, from.address));
  return new Promise((resolve) => udp.bind(port, '::', resolve));
}

/** Serves each address with its own sockets, so that answers come from that address, datagrams as well. */
function servePods(addresses, port) {
  return Promise.all(
    addresses.flatMap((own) => {
      const answer = (address) => `${own} ${address}`;
      const server = net.createServer((socket) => {
        socket.on('error', () => undefined);
        socket.on('data', (data) =>
          String(data).startsWith('stay') ? socket.write(answer(socket.remoteAddress)) : socket.end(answer(socket.remoteAddress)),
        );
      });
      const udp = dgram.createSocket(own.includes(':') ? 'udp6' : 'udp4');
      udp.on('message', (_, from) => udp.send(answer(from.address), from.port, from.address));
      return [new Promise((resolve) => server.listen(port, own, resolve)), new Promise((resolve) => udp.bind(port, own, resolve))];
    }),
  );
}

function tcp({ address, port, localAddress, localPort, timeout }) {
  return new Promise((resolve) => {
    const socket = net.connect({
      host: address,
      port,
      ...(localAddress === undefined ? {} : { localAddress }),
      ...(localPort === undefined ? {} : { localPort }),
    });
    let text = '';
    const timer = setTimeout(() => finish('TIMEOUT'), timeout);
    const finish = (result) => {
      clearTimeout(timer);
      socket.destroy();
      resolve(result);
    };
    socket.on('connect', () => socket.write('go'));
    socket.on('data', (data) => (text += data));
    socket.on('end', () => finish(text));
    socket.on('error', (error) => finish(error.code));
  });
}

function udp({ address, port, localAddress, localPort, timeout }) {
  return new Promise((resolve) => {
    const socket = dgram.createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const timer = setTimeout(() => finish('TIMEOUT'), timeout);
    let over = false;
    let repeat;
    const finish = (result) => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      clearInterval(repeat);
      socket.close();
      resolve(result);
    };
    socket.on('error', (error) => finish(error.code));
    socket.on('message', (data) => finish(String(data)));
    socket.bind({ port: localPort ?? 0, ...(localAddress === undefined ? {} : { address: localAddress }) }, () => {
      socket.connect(port, address, (error) => {
        if (error) finish(error.code);
        else {
          const send = () => socket.send('go', (failure) => failure && finish(failure.code));
          send();
          // UDP clients repeat a datagram, because a busy machine sometimes loses one.
          repeat = setInterval(send, 250);
        }
      });
    });
  });
}

const patience = 10_000;

/**
 * Opens one connection that asks every 20 ms, and prints "connected" at the first answer. It ends when it fails, or with the next answer
 * after standard input has ended. Then it prints the number of answers, the pod that answered first, and the failure.
 */
function stay({ address, port, ...local }) {
  const socket = net.connect({ host: address, port, ...local });
  let answers = 0;
  let who = '';
  let ending = false;
  const end = (failure) => {
    console.log(JSON.stringify({ answers, failure, who }));
    process.exit(0);
  };
  socket.on('connect', () => setInterval(() => socket.write('stay'), 20));
  socket.on('data', (data) => {
    if (answers++ === 0) console.log('connected');
    who ||= String(data).split(' ')[0];
    if (ending) end('');
  });
  socket.on('error', (error) => end(error.code));
  socket.on('close', () => end('closed'));
  process.stdin.on('end', () => {
    ending = true;
    setTimeout(() => end('SILENT'), patience);
  });
  process.stdin.resume();
}

/** Opens a TCP connection, or a UDP flow, that stays. Resolves with the pod that answers and a function that ends it. */
function open({ protocol, address, port }) {
  return new Promise((resolve) => {
    if (protocol === 'TCP') {
      const socket = net.connect({ host: address, port });
      socket.on('connect', () => socket.write('stay'));
      socket.on('error', (error) => resolve({ pod: error.code, end: () => undefined }));
      socket.on('data', (data) => resolve({ pod: String(data).split(' ')[0], end: () => socket.destroy() }));
      return;
    }
    const socket = dgram.createSocket(address.includes(':') ? 'udp6' : 'udp4');
    const repeat = setInterval(() => socket.send('go', port, address), 250);
    socket.on('message', (data) => {
      clearInterval(repeat);
      resolve({ pod: String(data).split(' ')[0], end: () => socket.close() });
    });
    socket.send('go', port, address);
  });
}

/** Obeys one command in each line of standard input, and prints the pods of the connections that it opened or ended. */
async function hold() {
  let held = [];
  for await (const line of createInterface({ input: process.stdin })) {
    const { count = 1, end, ...request } = JSON.parse(line);
    const done = [];
    if (end !== undefined) {
      for (const each of held.filter(({ pod }) => pod === end).slice(0, count)) done.push(each);
      held = held.filter((each) => !done.includes(each));
      for (const each of done) each.end();
    } else {
      for (let opened = 0; opened < count; opened++) done.push(await open(request));
      held.push(...done);
    }
    console.log(JSON.stringify(done.map(({ pod }) => pod)));
  }
  process.exit(0);
}

/** Makes the requests of one kind, one after the other. */
async function ask(given) {
  const request = { count: 1, timeout: patience, ...given };
  const one = request.protocol === 'TCP' ? tcp : udp;
  const started = performance.now();
  const answers = [];
  for (let i = 0; i < request.count; i++) answers.push(await one(request));
  return { answers, milliseconds: performance.now() - started };
}

const [, , role, first, second, third] = process.argv;
if (role === 'server') {
  await Promise.all([serve(first, Number(second)), serve(`${first}:${third}`, Number(third))]);
  console.log('ready');
} else if (role === 'pods') {
  await servePods(JSON.parse(first), Number(second));
  console.log('ready');
} else if (role === 'hold') await hold();
else if (role === 'stay') stay(JSON.parse(first));
else console.log(JSON.stringify(await Promise.all(JSON.parse(first).map(ask))));
