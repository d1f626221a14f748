import { message } from '../message.ts';
import type { ObjectTable } from '../object-table.ts';
import { list, omitEmpty, sharedText, text } from '../types.ts';
import { objectMeta } from './object-meta.ts';

const spec = message({
  podCIDR: [1, omitEmpty(text)],
  providerID: [3, omitEmpty(text)],
  taints: [5, list(message({ key: [1, sharedText], effect: [3, sharedText] }))],
  podCIDRs: [7, list(text)],
});

/** The kubelet reports some fifty images with each status; they are passed over. */
const status = message({
  conditions: [4, list(message({ type: [1, sharedText], status: [2, sharedText] }))],
  addresses: [5, list(message({ type: [1, sharedText], address: [2, text] }))],
});

/** core/v1 (k8s.io/api, core/v1/generated.proto). */
export const node: ObjectTable = {
  kind: 'Node',
  message: message({ metadata: [1, objectMeta], spec: [2, spec], status: [3, status] }),
};
