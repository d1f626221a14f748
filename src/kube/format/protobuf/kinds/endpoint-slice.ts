import { message, type Fields } from '../message.ts';
import type { ObjectTable } from '../object-table.ts';
import { bool, int32, list, omitEmpty, sharedText, text } from '../types.ts';
import { objectMeta } from './object-meta.ts';

/** discovery.k8s.io/v1 (k8s.io/api, discovery/v1/generated.proto). */
const hint = message({ name: [1, sharedText] });

const endpoint: Fields = {
  addresses: [1, list(text)],
  conditions: [2, message({ ready: [1, bool], serving: [2, bool], terminating: [3, bool] })],
  nodeName: [6, sharedText],
  zone: [7, sharedText],
  hints: [8, message({ forZones: [1, list(hint)], forNodes: [2, list(hint)] })],
};

/** core/v1 ObjectReference. */
const targetRef = message({ kind: [1, omitEmpty(sharedText)], namespace: [2, omitEmpty(sharedText)], name: [3, omitEmpty(text)] });

const slice = (endpoints: Fields): ObjectTable => ({
  kind: 'EndpointSlice',
  message: message({
    metadata: [1, objectMeta],
    endpoints: [2, list(message(endpoints))],
    ports: [3, list(message({ name: [1, sharedText], protocol: [2, sharedText], port: [3, int32] }))],
    addressType: [4, sharedText],
  }),
});

export const endpointSlice = slice({ ...endpoint, targetRef: [4, targetRef] });

/** Without the names of pods, which agents do not use. */
export const endpointSliceOfAgent = slice(endpoint);
