import { stringify } from 'yaml';
import { fabric } from '../fabric.ts';
import type { Misconfiguration, Scene } from '../misconfiguration.ts';
import { advertisement, namespace, pool, service, type Manifest } from '../objects.ts';
import type { Place } from '../place.ts';

/** Everything but the Service, which is created with the mistake. */
const withoutService = (place: Place): Manifest[] => [namespace(place), pool(place), advertisement(place)];

/** Mistakes that concern every Service, so each is made while no other case exists. */
export const aloneCases: readonly Misconfiguration[] = [
  {
    name: 'no-pool-at-all',
    mistake: 'There is no IPAddressPool.',
    code: 'NoPools',
    condition: 'AddressAssigned',
    verdict: 'Not served: there is no valid IPAddressPool. Create an IPAddressPool.',
    before: (place) => [namespace(place), advertisement(place)],
    after: (place) => [namespace(place), advertisement(place), ...service(place)],
  },
  {
    name: 'no-controller',
    mistake: 'The Service is created while no controller runs.',
    code: 'NoAddress',
    verdict:
      'Not served: the Service has no address yet: the controller has not assigned one. Check with herald status that a controller runs and leads.',
    before: withoutService,
    act: async ({ herald }, place) => {
      await herald.controller.stop();
      await write(herald, place, [...withoutService(place), ...service(place)]);
    },
    undo: async ({ herald }) => startController(herald),
  },
  {
    name: 'no-nodes',
    mistake: 'The Node objects are deleted.',
    code: 'NodeUnknown',
    verdict:
      'Not served: there is no Node object "node1" (the same on all 9 nodes). Create the Node object, or start the agent with the name of an existing one (now --node node1).',
    act: ({ herald }) => writeFabric(herald, (one) => one['kind'] !== 'Node'),
    undo: ({ herald }) => writeFabric(herald, () => true),
  },
];

async function startController(herald: Scene['herald']): Promise<void> {
  await herald.startController().waitForLine(/controller started/);
}

const write = (herald: Scene['herald'], { name }: Place, manifests: readonly Manifest[]): Promise<void> =>
  herald.write(`${name}.yaml`, yamlOf(manifests));

const writeFabric = (herald: Scene['herald'], keep: (one: Manifest) => boolean): Promise<void> =>
  herald.write('00-fabric.yaml', yamlOf(fabric().filter(keep)));

const yamlOf = (manifests: readonly Manifest[]): string => manifests.map((one) => stringify(one)).join('---\n');
