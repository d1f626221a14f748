import { setTimeout as sleep } from 'node:timers/promises';
import process from 'node:process';
import { foreground, killedWithParent } from '../../conformance/foreground.ts';
import { inNamespace, ip } from '../../lab/namespace.ts';
import { processorTime } from '../runner/process-figures.ts';
import { nodeAddress } from './addresses.ts';
import { configuration, externalAddress, poolAddresses, servicesWithEndpoints } from './objects.ts';
import { Stage } from './stage.ts';

/** The part of a core that an agent takes, in percent, while clients open connections through its node. */
interface Look {
  readonly checks: string;
  readonly processor: number;
}

/** 504 endpoints. */
const services = 84;
const connectionsPerSecond = 100;
const settleMilliseconds = 15_000;
const periods = 3;

/** Answers at every endpoint, and opens connections to every Service in turn. */
const traffic = `const net = require('node:net');
net.createServer((socket) => socket.end()).listen({ port: 8080, host: '0.0.0.0', backlog: 500 }, () => {
  let next = 0;
  const addresses = ${JSON.stringify(Array.from({ length: services }, (_, index) => externalAddress(index)))};
  setInterval(() => net.connect({ port: 80, host: addresses[next++ % addresses.length] }).on('error', () => {}).resume(), ${1000 / connectionsPerSecond});
});`;

/** Switches looking on and off in turn while one agent runs, so that both are measured under the same conditions. */
export async function measureLook(seconds: number): Promise<readonly Look[]> {
  const stage = await Stage.start('directory');
  try {
    await stage.put('configuration', ...configuration());
    await stage.put('services', ...servicesWithEndpoints(0, services));
    // The router has the addresses of all pods, and is the client.
    const pods = ['10.244.1.1/32', ...Array.from({ length: 5 }, (_, slot) => `10.${slot + 1}.0.0/16`)];
    await ip(
      [...pods.map((prefix) => `route add local ${prefix} dev lo`), `route add ${poolAddresses} via ${nodeAddress(4)}`],
      stage.router,
    );
    const agent = stage.startAgent();
    await agent.waitForLine(/agent started/);
    const client = foreground(
      inNamespace(stage.router, killedWithParent([process.execPath, '-e', traffic])),
      `${stage.folder}/traffic.log`,
    );
    try {
      const shares: Record<string, number[]> = { passive: [], off: [] };
      for (let period = 0; period < periods; period++) {
        for (const checks of ['passive', 'off']) {
          await stage.put('configuration', ...configuration({ checks }));
          await sleep(settleMilliseconds);
          const [began, before] = [performance.now(), processorTime(agent.pid)];
          await sleep(seconds * 1000);
          shares[checks]?.push((100 * (processorTime(agent.pid) - before)) / (performance.now() - began));
        }
      }
      return Object.entries(shares).map(([checks, each]) => {
        return { checks, processor: Number((each.reduce((sum, one) => sum + one, 0) / each.length).toPrecision(3)) };
      });
    } finally {
      await client.stop();
    }
  } finally {
    await stage.stop();
  }
}
