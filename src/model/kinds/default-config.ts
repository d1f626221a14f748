import type { ConntrackConfig, HeraldConfig } from './types.ts';
import { conntrack, heraldConfigSpec, settings } from './herald-config.ts';
import { defaultsOf } from '../schema/kind.ts';

/** The settings where no HeraldConfig/default exists, and of its fields that are not written. */
export const defaultConfig: HeraldConfig = {
  kind: 'HeraldConfig',
  metadata: {
    namespace: '',
    name: 'default',
    uid: '',
    resourceVersion: '',
    labels: {},
    annotations: {},
    creationTimestamp: '',
    deleting: false,
  },
  ...settings(defaultsOf(heraldConfigSpec), { standalone: true }),
};

export const defaultConntrack: ConntrackConfig = defaultsOf(conntrack);

/** In a cluster a Service without a class may be another controller's. */
export const clusterConfig: HeraldConfig = { ...defaultConfig, ...settings(defaultsOf(heraldConfigSpec), { standalone: false }) };
