import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

const namespaces = 50;
const inFile = 1000;

/** Writes Services of fifty namespaces, two nodes, a router and a pool that is too small for the last hundred Services. */
export async function writeManifests(directory: string, count: number): Promise<void> {
  const herald = (kind: string, name: string, spec: object): object => ({
    apiVersion: 'herald.dev/v1alpha1',
    kind,
    metadata: { name },
    spec,
  });
  const last = count - 100;
  const shared = [
    ...['node1', 'node2'].map((name, index) => ({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name },
      status: { addresses: [{ type: 'InternalIP', address: `10.1.0.${index + 1}` }] },
    })),
    herald('IPAddressPool', 'public', { addresses: [`${addressOf(0)}-${addressOf(last - 1)}`] }),
    herald('BGPPeer', 'tor', { myASN: 64_512, peerASN: 64_513, peerAddress: '10.1.0.254' }),
    herald('BGPAdvertisement', 'all', {}),
  ];
  await writeDocuments(join(directory, '10-shared.yaml'), shared);
  for (let from = 0; from < count; from += inFile) {
    const services = Array.from({ length: Math.min(inFile, count - from) }, (_, index) => serviceOf(from + index, last));
    await writeDocuments(join(directory, `services-${String(from).padStart(6, '0')}.yaml`), services);
  }
}

function serviceOf(index: number, last: number): object {
  const isAssigned = index < last;
  return {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { namespace: `ns-${index % namespaces}`, name: `web-${index}` },
    spec: {
      type: 'LoadBalancer',
      clusterIP: `10.${128 + (index >> 16)}.${(index >> 8) & 255}.${index & 255}`,
      ports: [{ port: 80, targetPort: 8080 }],
    },
    ...(isAssigned ? { status: { loadBalancer: { ingress: [{ ip: addressOf(index) }] } } } : {}),
  };
}

const addressOf = (index: number): string => `10.${index >> 16}.${(index >> 8) & 255}.${index & 255}`;

function writeDocuments(file: string, documents: readonly object[]): Promise<void> {
  return writeFile(file, documents.map((one) => JSON.stringify(one)).join('\n---\n'));
}
