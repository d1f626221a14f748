import { describe, expect, test } from 'vitest';
import { defined } from '../../../../src/lang/defined.ts';
import {
  staleFlowsText,
  staleFlows,
  staleFlowMatcher,
  type Flow,
  type StaleFlows,
} from '../../../../src/dataplane/conntrack/conntrack-cleaner.ts';
import { readFlow } from '../../../support/commands/conntrack-command.ts';
import { address, formatAddress } from '../../../../src/net/address.ts';
import { frontendKey, type Backend, type Frontend, type Protocol } from '../../../../src/net/frontend.ts';
import { prefix, type Prefix } from '../../../../src/net/prefix.ts';

/** "10.1.0.1:8080" */
const backend = (text: string): Backend => {
  const [at = '', port] = text.split(':');
  return { address: address(at), port: Number(port), local: false };
};
const nodePortAddresses = [prefix('10.99.0.1/32')];

interface Literal {
  /** "172.30.0.1" or "node". */
  readonly at: string;
  readonly port?: number;
  readonly protocol?: Protocol;
  readonly backends?: readonly string[];
  readonly local?: readonly string[];
  readonly retained?: readonly string[];
  readonly reset?: true;
}

function frontend({ at, port = 80, protocol = 'UDP', backends = [], local = [], retained = [], reset }: Literal): Frontend {
  return {
    match: at === 'node' ? { kind: 'nodePort', family: 4, protocol, port } : { kind: 'address', address: address(at), protocol, port },
    scope: 'external',
    policy: local.length > 0 ? 'Local' : 'Cluster',
    backends: backends.map(backend),
    localBackends: local.map(backend),
    ...(retained.length === 0 ? {} : { retained: retained.map(backend) }),
    ...defined({ resetRemoved: reset }),
  };
}

/** "UDP 172.30.0.1:80 10.1.0.1:8080": the client's destination, and the address that replies. */
const text = ({ protocol, destination, port, replySource, replyPort, ...rest }: StaleFlows | Flow): string => {
  const unreplied = 'unreplied' in rest ? ' unreplied' : '';
  return `${protocol} ${destination === undefined ? '*' : formatAddress(destination)}:${port} ${formatAddress(replySource)}:${replyPort ?? '*'}${unreplied}`;
};

const strayFlows = (flows: readonly Flow[], frontends: readonly Frontend[], nodePortAddresses: readonly Prefix[]): StaleFlows[] => {
  const byKey = new Map(frontends.map((each) => [frontendKey(each.match), each]));
  const strayOf = staleFlowMatcher((key) => byKey.get(key), nodePortAddresses);
  const strays = flows.flatMap((each) => strayOf(each) ?? []);
  return [...new Map(strays.map((stray) => [staleFlowsText(stray), stray])).values()];
};

const flow = (line: string): Flow => {
  const [protocol, to = '', from = '', unreplied] = line.split(' ');
  const [destination, reply] = [backend(to), backend(from)];
  return {
    protocol: protocol as Protocol,
    destination: destination.address,
    port: destination.port,
    replySource: reply.address,
    replyPort: reply.port,
    replied: unreplied === undefined,
  };
};

describe('stale flows of a changed frontend', () => {
  const web = (rest: Omit<Literal, 'at'> = {}): Frontend => frontend({ at: '172.30.0.1', ...rest });
  const two = ['10.1.0.1:8080', '10.1.0.2:8080'];

  test.each<[string, Frontend | undefined, Frontend | undefined, string[]]>([
    ['a removed backend', web({ backends: two }), web({ backends: two.slice(1) }), ['UDP 172.30.0.1:80 10.1.0.1:8080']],
    ['the last backend, so that none is left', web({ backends: two.slice(1) }), web(), ['UDP 172.30.0.1:80 10.1.0.2:8080']],
    ['a removed Service', web({ backends: two.slice(1) }), undefined, ['UDP 172.30.0.1:80 10.1.0.2:8080']],
    [
      'the same pod with another port',
      web({ backends: ['10.1.0.1:8080'] }),
      web({ backends: ['10.1.0.1:9090'] }),
      ['UDP 172.30.0.1:80 10.1.0.1:8080'],
    ],
    [
      'a backend that keeps serving without new flows',
      web({ backends: two }),
      web({ backends: two.slice(1), retained: two.slice(0, 1) }),
      [],
    ],
    [
      'a backend that stops serving later',
      web({ backends: two.slice(1), retained: two.slice(0, 1) }),
      web({ backends: two.slice(1) }),
      ['UDP 172.30.0.1:80 10.1.0.1:8080'],
    ],
    ['a retained backend that comes back', web({ backends: two.slice(1), retained: two.slice(0, 1) }), web({ backends: two }), []],
    ['a new frontend: flows that were not translated before it', undefined, web({ backends: two }), ['UDP 172.30.0.1:80 172.30.0.1:*']],
    ['the first two backends of a frontend', web(), web({ backends: two }), ['UDP 172.30.0.1:80 172.30.0.1:*']],
    ['the only backend of a frontend', web(), web({ backends: two.slice(1) }), ['UDP 172.30.0.1:80 172.30.0.1:*']],
    ['a new frontend without a backend, which still refuses packets', undefined, web(), []],
    ['a second backend needs no deletion', web({ backends: two.slice(1) }), web({ backends: two }), []],
    [
      'a removed SCTP backend',
      web({ protocol: 'SCTP', backends: two }),
      web({ protocol: 'SCTP', backends: two.slice(1) }),
      ['SCTP 172.30.0.1:80 10.1.0.1:8080'],
    ],
    [
      'a TCP frontend with resetRemoved',
      web({ protocol: 'TCP', backends: two, reset: true }),
      web({ protocol: 'TCP', backends: two.slice(1), reset: true }),
      ['TCP 172.30.0.1:80 10.1.0.1:8080'],
    ],
    [
      'a removed Service with resetRemoved',
      web({ protocol: 'TCP', backends: two.slice(1), reset: true }),
      undefined,
      ['TCP 172.30.0.1:80 10.1.0.2:8080'],
    ],
    [
      'a TCP backend that keeps serving, with resetRemoved',
      web({ protocol: 'TCP', backends: two, reset: true }),
      web({ protocol: 'TCP', backends: two.slice(1), retained: two.slice(0, 1), reset: true }),
      [],
    ],
    [
      'a TCP frontend that no longer has resetRemoved: unanswered flows',
      web({ protocol: 'TCP', backends: two, reset: true }),
      web({ protocol: 'TCP', backends: two.slice(1) }),
      ['TCP 172.30.0.1:80 10.1.0.1:8080 unreplied'],
    ],
    [
      'a TCP frontend without resetRemoved: unanswered flows',
      web({ protocol: 'TCP', backends: two }),
      web({ protocol: 'TCP', backends: two.slice(1) }),
      ['TCP 172.30.0.1:80 10.1.0.1:8080 unreplied'],
    ],
    [
      'a TCP backend that keeps serving without new flows',
      web({ protocol: 'TCP', backends: two }),
      web({ protocol: 'TCP', backends: two.slice(1), retained: two.slice(0, 1) }),
      [],
    ],
    [
      'a new TCP frontend: unanswered flows',
      undefined,
      web({ protocol: 'TCP', backends: two }),
      ['TCP 172.30.0.1:80 172.30.0.1:* unreplied'],
    ],
    [
      'a NodePort on any address',
      frontend({ at: 'node', backends: two }),
      frontend({ at: 'node', backends: two.slice(1) }),
      ['UDP *:80 10.1.0.1:8080'],
    ],
    ['a new NodePort', undefined, frontend({ at: 'node', backends: two }), ['UDP 10.99.0.1:80 10.99.0.1:*']],
    [
      'a removed local backend',
      web({ backends: two, local: two.slice(0, 1) }),
      web({ backends: two.slice(1) }),
      ['UDP 172.30.0.1:80 10.1.0.1:8080'],
    ],
  ])('%s', (_, before, after, expected) => {
    expect(staleFlows(before, after, nodePortAddresses).map(text)).toEqual(expected);
  });
});

describe('flows that an agent finds at start', () => {
  // Three endpoints: the second is gone, and the third serves without new flows.
  const frontends = (protocol: Protocol): Frontend[] =>
    ['172.30.0.1', '192.0.2.1', '198.51.100.1', 'node'].map((at) =>
      frontend({ at, port: at === 'node' ? 30_001 : 80, protocol, backends: ['10.1.0.1:8080'], retained: ['10.1.0.3:8080'] }),
    );
  const all = (protocol: Protocol): Flow[] =>
    [1, 2, 3].flatMap((endpoint) =>
      ['172.30.0.1:80', '192.0.2.1:80', '198.51.100.1:80', '172.30.0.1:81', '192.0.2.1:81', '198.51.100.1:81', '10.99.0.1:30001'].map(
        (to) => flow(`${protocol} ${to} 10.1.0.${endpoint}:8080`),
      ),
    );
  const gone = (protocol: Protocol): string[] =>
    ['172.30.0.1:80', '192.0.2.1:80', '198.51.100.1:80', '10.99.0.1:30001'].map((to) => `${protocol} ${to} 10.1.0.2:8080`);

  test.each(['UDP', 'SCTP'] as const)('%s flows to an endpoint that is neither used nor serving are deleted, and no others', (protocol) => {
    expect(strayFlows(all(protocol), frontends(protocol), nodePortAddresses).map(text).toSorted()).toEqual(gone(protocol).toSorted());
  });

  test('flows to an old port of an endpoint are deleted', () => {
    const old = ['UDP 172.30.0.1:80 10.1.0.1:9090', 'UDP 10.99.0.1:30001 10.1.0.1:9090'];
    expect(strayFlows(old.map(flow), frontends('UDP'), nodePortAddresses).map(text)).toEqual(old);
  });

  test('flows that began before the frontend are deleted, and only on its own addresses', () => {
    const before = ['UDP 172.30.0.1:80 172.30.0.1:80', 'UDP 10.99.0.1:30001 10.99.0.1:30001'];
    const foreign = ['UDP 203.0.113.9:30001 203.0.113.9:30001', 'UDP 203.0.113.9:80 203.0.113.9:80'];
    expect(strayFlows([...before, ...foreign].map(flow), frontends('UDP'), nodePortAddresses).map(text)).toEqual(before);
  });

  test('unanswered TCP flows that began before the frontend or lead to a removed endpoint are deleted', () => {
    const stray = [
      'TCP 172.30.0.1:80 172.30.0.1:80 unreplied',
      'TCP 10.99.0.1:30001 10.99.0.1:30001 unreplied',
      'TCP 172.30.0.1:80 10.1.0.2:8080 unreplied',
    ];
    const others = [
      'TCP 172.30.0.1:80 172.30.0.1:80',
      'TCP 172.30.0.1:80 10.1.0.1:8080 unreplied',
      'TCP 172.30.0.1:80 10.1.0.3:8080 unreplied',
      'TCP 172.30.0.1:80 10.1.0.2:8080',
    ];
    expect(strayFlows([...stray, ...others].map(flow), frontends('TCP'), nodePortAddresses).map(text)).toEqual(stray);
  });

  test('without an endpoint, translated flows are deleted (unlike kube-proxy) and the others stay', () => {
    const empty = [frontend({ at: '172.30.0.1' })];
    const flows = ['UDP 172.30.0.1:80 10.1.0.1:8080', 'UDP 172.30.0.1:80 172.30.0.1:80'].map(flow);
    expect(strayFlows(flows, empty, []).map(text)).toEqual(['UDP 172.30.0.1:80 10.1.0.1:8080']);
  });

  test('a flow of one protocol does not match a frontend of another', () => {
    expect(strayFlows(all('UDP'), frontends('SCTP'), nodePortAddresses)).toEqual([]);
  });
});

describe('a line of conntrack -L', () => {
  test.each([
    [
      'udp      17 27 src=10.99.0.2 dst=192.0.2.1 sport=40000 dport=80 src=10.244.1.11 dst=10.244.1.1 sport=8080 dport=1234 mark=0 use=1',
      'UDP 192.0.2.1:80 10.244.1.11:8080',
    ],
    [
      'udp      17 29 src=fd99::2 dst=fd09::1 sport=40000 dport=80 [UNREPLIED] src=fd09::1 dst=fd99::2 sport=80 dport=40000 mark=0 use=1',
      'UDP fd09::1:80 fd09::1:80',
    ],
  ])('reads %s', (line, expected) => {
    const read = readFlow('UDP', line);
    expect(read === undefined ? undefined : text(read)).toBe(expected);
  });

  test.each(['', 'conntrack v1.4.7 (conntrack-tools): 1 flow entries have been shown.', 'unknown 47 5 src=10.0.0.1 dst=10.0.0.2'])(
    'ignores %j',
    (line) => {
      expect(readFlow('UDP', line)).toBeUndefined();
    },
  );
});
