import type { ConntrackConfig, HeraldConfig } from './types.ts';
import { conntrack, heraldConfigSpec, settings } from './herald-config.ts';
import { defaultsOf } from '../schema/kind.ts';

/** The settings when there is no HeraldConfig/default. */
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

/** The settings in a cluster. There a Service without a class may belong to another controller. */
export const clusterConfig: HeraldConfig = { ...defaultConfig, ...settings(defaultsOf(heraldConfigSpec), { standalone: false }) };
