import { message } from '../message.ts';
import type { ObjectTable } from '../object-table.ts';
import { list, sharedText, time, omitEmpty } from '../types.ts';
import { objectMeta } from './object-meta.ts';

const containerStatus = message({
  name: [1, sharedText],
  state: [2, message({ running: [2, message({ startedAt: [1, time] })] })],
});

/** core/v1 Pod (k8s.io/api, core/v1/generated.proto), as far as it is read of the Pods of agents. */
export const agentPod: ObjectTable = {
  kind: 'Pod',
  message: message({
    metadata: [1, objectMeta],
    spec: [2, message({ nodeName: [10, omitEmpty(sharedText)] })],
    status: [3, message({ containerStatuses: [8, list(containerStatus)] })],
  }),
};
