import { Socket } from 'node:net';
import process from 'node:process';

/**
 * Setup of every test of AWS: nothing here reaches the real one. A client that is not told of another endpoint goes to a port where
 * nobody listens, with credentials of nobody, and a connection to anything but loopback is refused before a name is looked up.
 * Programs that a test starts have the variables, too.
 */
const variables = {
  AWS_ENDPOINT_URL: 'http://127.0.0.1:9',
  AWS_EC2_METADATA_DISABLED: 'true',
  AWS_ACCESS_KEY_ID: 'nobody',
  AWS_SECRET_ACCESS_KEY: 'nothing',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
};
for (const name of Object.keys(process.env)) if (name.startsWith('AWS_')) delete process.env[name];
Object.assign(process.env, variables);

interface Destination {
  readonly host?: string;
  /** Of a socket file; null where the agents of HTTP mean none. */
  readonly path?: string | null;
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost', undefined]);
type Connect = (this: Socket, ...args: unknown[]) => Socket;
const connect = Reflect.get(Socket.prototype, 'connect') as Connect;
Socket.prototype.connect = function connectToLoopback(this: Socket, ...args: unknown[]): Socket {
  // Node's own callers hand over the list of arguments that net.connect has put in order.
  const [first, second] = (Array.isArray(args[0]) ? args[0] : args) as [unknown, unknown];
  const { host, path }: Destination =
    typeof first === 'object' && first !== null ? first : typeof second === 'string' ? { host: second } : {};
  if (typeof path !== 'string' && !loopback.has(host)) throw new Error(`a test wants to reach ${host}; only loopback is allowed`);
  return connect.apply(this, args);
};
