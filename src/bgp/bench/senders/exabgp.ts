import { manyPeersAddress, manyPeersSender, receiverAddress, receiverAsn, senderAddress, senderAsn } from '../addresses.ts';
import { BenchProcess, file, senderNamespace } from '../../../../test/bench/runner/bench-network.ts';
import { prefixes, type Contender } from '../sender.ts';
import { versionOf } from '../../../../test/bench/runner/versions.ts';

const env = {
  'exabgp.daemon.user': 'root',
  // ExaBGP 4 and 5 have other names for the higher levels.
  'exabgp.log.level': 'WARNING',
  'exabgp.api.cli': 'false',
  'exabgp.tcp.attempts': '0',
};

/** ExaBGP opens its session when its process starts, so `open` starts the process. */
export function exabgp(): Contender {
  const configuration = (count: number, peer = receiverAddress, local = senderAddress): string => `
neighbor ${peer} {
  router-id ${senderAddress};
  local-address ${local};
  local-as ${senderAsn};
  peer-as ${receiverAsn};
  family { ipv4 unicast; }
  static {
${prefixes(count)
  .map((prefix) => `    route ${prefix} next-hop self;`)
  .join('\n')}
  }
}
`;
  return {
    name: 'ExaBGP',
    version: exabgpVersion(),
    how: 'static routes of the configuration; withdrawal by a configuration without them and SIGUSR1',
    most: (slow) => (slow ? 100_000 : 10_000),
    mostForMany: 160_000,
    startMany(peers, count) {
      const all = (size: number): string =>
        Array.from({ length: peers }, (_, n) => configuration(size, manyPeersAddress(n), manyPeersSender)).join('');
      const process = new BenchProcess(senderNamespace, ['exabgp', file('exabgp.conf', all(0))], { env });
      const reload = (size: number): Promise<void> => {
        file('exabgp.conf', all(size));
        process.child.kill('SIGUSR1');
        return Promise.resolve();
      };
      return Promise.resolve({
        pid: process.pid,
        announce: async () => {
          await reload(count);
          return count;
        },
        withdraw: () => reload(0),
        stop: () => process.kill(),
      });
    },
    start(count) {
      const config = file('exabgp.conf', configuration(count));
      let process: BenchProcess | undefined;
      const sender = {
        get pid(): number | undefined {
          return process?.pid;
        },
        count,
        open() {
          process = new BenchProcess(senderNamespace, ['exabgp', config], { env });
          return Promise.resolve();
        },
        withdraw() {
          file('exabgp.conf', configuration(0));
          process?.child.kill('SIGUSR1');
          return Promise.resolve();
        },
        stop: async () => process?.kill(),
      };
      return Promise.resolve(sender);
    },
  };
}

/** ExaBGP 5 has a command in place of the option. */
function exabgpVersion(): string {
  const version = versionOf(['exabgp', '--version']);
  return version === 'unknown' ? versionOf(['exabgp', 'version']) : version;
}
