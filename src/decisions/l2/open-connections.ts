import type { HeraldConfig } from '../../model/kinds/types.ts';
import type { Service } from '../../model/objects/service.ts';
import { wantsDirectReturn } from '../direct-return/plan.ts';
import { consistentHashing } from '../forwarding/balancing.ts';

/** Settings of a Service that open connections may need to survive a change of the owner of its address. */
export type SettingForConnections = 'externalTrafficPolicy' | 'consistent hashing' | 'direct return';

/**
 * Returns the settings without which open connections end when another node becomes the owner. Empty: they survive, except those to pods of
 * a node that fails, because every node finds the same pod and none but the pod's node tracks the connection. Under policy Local the new
 * owner has other pods; without direct return the former owner has masked the client.
 */
export function settingsForConnections(config: HeraldConfig, service: Service): readonly SettingForConnections[] {
  const isLocal = service.externalTrafficPolicy === 'Local';
  const isHashed = consistentHashing(config, { ...service, externalTrafficPolicy: 'Cluster' }) !== undefined;
  return [
    ...(isLocal ? (['externalTrafficPolicy'] as const) : []),
    ...(isHashed ? [] : (['consistent hashing'] as const)),
    ...(wantsDirectReturn(config, service) ? [] : (['direct return'] as const)),
  ];
}
