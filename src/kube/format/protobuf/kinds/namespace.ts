import { message } from '../message.ts';
import type { ObjectTable } from '../object-table.ts';
import { objectMeta } from './object-meta.ts';

/** core/v1 (k8s.io/api, core/v1/generated.proto). */
export const namespace: ObjectTable = { kind: 'Namespace', message: message({ metadata: [1, objectMeta] }) };
