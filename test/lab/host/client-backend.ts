import { once } from 'node:events';
import process from 'node:process';
import { documents, dualStackService, endpointSlices, heraldConfig, type Manifest } from './objects.ts';
import { nodeManifest, TwoNodes } from './two-nodes.ts';

/**
 * Service shop/web on node1, with the client itself as its backend: the client's requests go to the node, are translated there, and come
 * back to it. The backend is on a node without an agent.
 */
export const webAddresses = { 4: '10.96.0.20', 6: 'fd00:96::20' } as const;
export const webUrls = [`http://${webAddresses[4]}/`, `http://[${webAddresses[6]}]/`] as const;

/** Returns Node, Service and endpoints. `spec` adds to the Service. */
export function clientBackend(spec: Manifest = {}, ready = true): string {
  const web = dualStackService('web', webAddresses, spec);
  return documents(nodeManifest('node1'), web, ...endpointSlices('web', { 4: '10.71.1.2', 6: 'fd71:1::2' }, 'elsewhere', ready));
}

/** An expression of a program: an HTTP server that answers "web". */
export const webServer = "require('node:http').createServer((_, r) => r.end('web'))";

/** Builds the lab in which the backend runs and the client has routes to the Service through node1. The agent is not started. */
export async function labWithClientBackend(server = webServer): Promise<TwoNodes> {
  const lab = await TwoNodes.build();
  // Without masquerade, the node would not see the client's answers to itself.
  await lab.write('05-config.yaml', documents(heraldConfig({ masqueradeAll: true })));
  await lab.write('10-web.yaml', clientBackend());
  await lab.exec('client', ['ip', 'route', 'add', `${webAddresses[4]}/32`, 'via', '10.71.1.1']);
  await lab.exec('client', ['ip', 'route', 'add', `${webAddresses[6]}/128`, 'via', 'fd71:1::1']);
  const running = lab.spawn('client', [process.execPath, '-e', `${server}.listen(8080, '::', () => console.log('up'))`]);
  if (running.stdout !== null) await once(running.stdout, 'data');
  return lab;
}
