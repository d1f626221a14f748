import { Socket } from 'node:net';
import process from 'node:process';

/**
 * Setup for all AWS tests: none of them reaches the real AWS. A client without an endpoint connects to a closed port with invalid
 * credentials. Any connection outside of loopback is refused before name resolution. Programs that a test starts inherit the variables.
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
  /** The path of a Unix socket. HTTP agents pass null for none. */
  readonly path?: string | null;
}

const loopback = new Set(['127.0.0.1', '::1', 'localhost', undefined]);
type Connect = (this: Socket, ...args: unknown[]) => Socket;
const connect = Reflect.get(Socket.prototype, 'connect') as Connect;
Socket.prototype.connect = function connectToLoopback(this: Socket, ...args: unknown[]): Socket {
  // Callers inside Node pass the argument list that net.connect has normalised.
  const [first, second] = (Array.isArray(args[0]) ? args[0] : args) as [unknown, unknown];
  const { host, path }: Destination =
    typeof first === 'object' && first !== null ? first : typeof second === 'string' ? { host: second } : {};
  if (typeof path !== 'string' && !loopback.has(host)) throw new Error(`a test wants to reach ${host}; only loopback is allowed`);
  return connect.apply(this, args);
};
