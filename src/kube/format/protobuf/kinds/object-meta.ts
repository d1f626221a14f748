import { message } from '../message.ts';
import { int64, list, omitEmpty, sharedText, text, textMap, time } from '../types.ts';

/** meta/v1 ObjectMeta (k8s.io/apimachinery, pkg/apis/meta/v1/generated.proto). managedFields are most of it, and are passed over. */
export const objectMeta = message({
  name: [1, omitEmpty(text)],
  namespace: [3, omitEmpty(sharedText)],
  uid: [5, omitEmpty(text)],
  resourceVersion: [6, omitEmpty(text)],
  generation: [7, omitEmpty(int64)],
  creationTimestamp: [8, time],
  deletionTimestamp: [9, time],
  labels: [11, textMap],
  annotations: [12, textMap],
  finalizers: [14, list(sharedText)],
});
