import type { Allocator } from '../../decisions/allocation/allocator.ts';
import { allocationRequest, type AllocationRequest } from '../../decisions/allocation/request.ts';
import type { RefusedPool } from '../../decisions/allocation/pools/pools.ts';
import { namespaceLabels } from '../../decisions/namespace-labels.ts';
import { whyPoolGivesNoMore } from '../../decisions/allocation/pools/pool-eligibility.ts';
import type { ServiceKey } from '../../model/objects/metadata.ts';
import { sameAddress } from '../../net/address.ts';
import type { IPAddressPool } from '../../model/kinds/types.ts';
import { reason, type Reason } from '../../model/reasons.ts';
import type { Snapshot } from '../../model/store/snapshot.ts';

/**
 * Returns why no Service of any namespace would get an address from the pool. Undefined when at least one kind of Service would: a pool
 * without a free address still gives one to a Service that shares it, or for which it is reserved.
 */
export function whyGivesNothing(
  pool: IPAddressPool,
  {
    snapshot,
    allocator,
    refused,
  }: { readonly snapshot: Snapshot; readonly allocator: Allocator; readonly refused: RefusedPool | undefined },
): Reason | undefined {
  if (refused !== undefined) return refused.reason;
  const drains = whyPoolGivesNoMore(pool);
  if (drains !== undefined) return drains;
  const { name } = pool.metadata;
  const usage = allocator.usage().filter((one) => one.pool === name);
  const [first] = usage;
  if (first === undefined || usage.some(({ free }) => free > 0n)) return undefined;
  const gives = (request: AllocationRequest): boolean =>
    allocator.survey(request).some((one) => one.pool === name && one.reason === undefined);
  for (const request of [...sharers(pool, snapshot, allocator), ...owners(pool, snapshot, allocator)]) if (gives(request)) return undefined;
  return reason('PoolFull', { pool: name, family: `IPv${first.family}`, total: String(first.total) });
}

/** For each Service that shares its address: another one like it at a free port, or the one for which that is reserved. */
function sharers(pool: IPAddressPool, snapshot: Snapshot, allocator: Allocator): AllocationRequest[] {
  const { name } = pool.metadata;
  return [...allocator.assignments()].flatMap(({ service, addresses }): AllocationRequest[] => {
    const held = addresses.filter((address) => allocator.poolOf(address) === name);
    const found = snapshot.services.get(service);
    if (held.length === 0 || found?.sharingKey === undefined) return [];
    const { namespace } = found.metadata;
    const like = { ...allocationRequest(found, snapshot), ...fresh, uid: '', requestedPool: name };
    return held.flatMap((address) => {
      const reserved = pool.reservations.filter((one) => sameAddress(one.address, address));
      const ports = [{ protocol: 'TCP' as const, port: freePort(allocator.holdersOf(address), snapshot) }];
      return [`${namespace}/${another}` as const, ...reserved.map((one) => one.service)].map((key): AllocationRequest => {
        const [of = ''] = key.split('/');
        const consent = of === namespace ? {} : { sharingNamespaces: [namespace] };
        return {
          ...like,
          ...consent,
          service: key,
          namespace: of,
          namespaceLabels: namespaceLabels(snapshot, of),
          ports,
          families: [address.family],
        };
      });
    });
  });
}

function freePort(holders: readonly ServiceKey[], snapshot: Snapshot): number {
  const taken = new Set(holders.flatMap((key) => snapshot.services.get(key)?.ports.map(({ port }) => port) ?? []));
  for (let port = 1; ; port++) if (!taken.has(port)) return port;
}

/** The Services for which the pool reserves addresses and that have none yet. */
function owners(pool: IPAddressPool, snapshot: Snapshot, allocator: Allocator): AllocationRequest[] {
  return pool.reservations.flatMap(({ service, address }): AllocationRequest[] => {
    const [namespace = ''] = service.split('/');
    if (allocator.holdersOf(address).length > 0) return [];
    return [
      {
        ...plain,
        ...fresh,
        service,
        namespace,
        namespaceLabels: namespaceLabels(snapshot, namespace),
        families: [address.family],
        requestedPool: pool.metadata.name,
      },
    ];
  });
}

/** No Service can have this name, because it is not valid. */
const another = '?';
const fresh = { requestedAddresses: [], keepsAddresses: false, policy: 'SingleStack' } as const;
const plain = {
  labels: {},
  sharingNamespaces: [],
  ports: [{ protocol: 'TCP', port: 1 }],
  externalTrafficPolicy: 'Cluster',
  selectorText: '',
} as const;
