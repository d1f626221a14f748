import fc from 'fast-check';
import { address, addressBytes, type Family } from '../../src/net/address.ts';
import { frontendKey, type Protocol } from '../../src/net/frontend.ts';
import { clusterIP } from './events.ts';
import type { Fault } from './faulty-netlink.ts';

/** The faults of one step. */
export type FaultPlan =
  /** A fault or none for each matching request, in order. Afterwards all requests succeed. */
  | { readonly script: readonly (Fault | 'none')[] }
  /** The same fault for every matching request. */
  | { readonly lasting: Fault };

const passing = fc.constantFrom('EBUSY', 'ENOMEM', 'ENOBUFS');

/** A frontend whose elements the kernel refuses. */
const oneFrontend = fc
  .tuple(
    fc.constantFrom(1, 2, 3),
    fc.constantFrom<Family>(4, 6),
    fc.constantFrom<[Protocol, number, number]>(['TCP', 6, 80], ['UDP', 17, 53]),
  )
  .map(([number, family, [protocol, protocolNumber, port]]) => {
    const at = address(clusterIP(family, number));
    const octets = Buffer.from([...addressBytes(at), protocolNumber, 0, 0, 0, port >> 8, port & 255, 0, 0]).toString('hex');
    return { frontend: frontendKey({ kind: 'address', address: at, protocol, port }), octets };
  });

/** Errors about elements and sets, memory and space. Some are transient. */
const reason = fc.constantFrom('EINVAL', 'EINVAL', 'ENOSPC', 'EBUSY', 'ENOMEM');

const anyFault: fc.Arbitrary<Fault> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('refused' as const), message: fc.nat({ max: 40 }), errno: reason }) },
  { weight: 4, arbitrary: fc.constantFrom<Fault>({ kind: 'reply lost' }, { kind: 'buffer full' }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('not sent' as const), errno: passing }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('list refused' as const), errno: passing }) },
);

export const anyFaultPlan: fc.Arbitrary<FaultPlan> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      script: fc.array(fc.oneof({ weight: 2, arbitrary: anyFault }, { weight: 1, arbitrary: fc.constant('none' as const) }), {
        minLength: 1,
        maxLength: 12,
      }),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      lasting: fc.tuple(oneFrontend, reason).map(([one, errno]): Fault => ({ kind: 'refused with', ...one, errno })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ lasting: anyFault }) },
);
