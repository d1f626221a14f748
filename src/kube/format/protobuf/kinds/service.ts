import { message, type Fields } from '../message.ts';
import type { ObjectTable } from '../object-table.ts';
import { bool, int32, int64, intOrString, list, omitEmpty, sharedText, text, textMap, time } from '../types.ts';
import { objectMeta } from './object-meta.ts';

const port = message({
  name: [1, omitEmpty(sharedText)],
  protocol: [2, omitEmpty(sharedText)],
  port: [3, int32],
  targetPort: [4, intOrString],
  nodePort: [5, omitEmpty(int32)],
});

const spec = message({
  ports: [1, list(port)],
  selector: [2, textMap],
  clusterIP: [3, omitEmpty(text)],
  type: [4, omitEmpty(sharedText)],
  externalIPs: [5, list(text)],
  sessionAffinity: [7, omitEmpty(sharedText)],
  loadBalancerIP: [8, omitEmpty(text)],
  loadBalancerSourceRanges: [9, list(text)],
  externalName: [10, omitEmpty(text)],
  externalTrafficPolicy: [11, omitEmpty(sharedText)],
  healthCheckNodePort: [12, omitEmpty(int32)],
  sessionAffinityConfig: [14, message({ clientIP: [1, message({ timeoutSeconds: [1, int32] })] })],
  ipFamilyPolicy: [17, sharedText],
  clusterIPs: [18, list(text)],
  ipFamilies: [19, list(sharedText)],
  allocateLoadBalancerNodePorts: [20, bool],
  loadBalancerClass: [21, sharedText],
  internalTrafficPolicy: [22, sharedText],
});

const ingress = message({ ip: [1, omitEmpty(text)], hostname: [2, omitEmpty(text)], ipMode: [3, sharedText] });

/** meta/v1 Condition, as far as decisions on any Service use it. */
const condition = {
  type: [1, sharedText],
  status: [2, sharedText],
  reason: [5, sharedText],
  message: [6, text],
} satisfies Fields;

/** core/v1 (k8s.io/api, core/v1/generated.proto). */
const serviceWith = (ofCondition: Fields): ObjectTable => ({
  kind: 'Service',
  message: message({
    metadata: [1, objectMeta],
    spec: [2, spec],
    status: [3, message({ loadBalancer: [1, message({ ingress: [1, list(ingress)] })], conditions: [2, list(message(ofCondition))] })],
  }),
});

export const service: ObjectTable = serviceWith(condition);

/** Also with the fields of conditions that their writer must know. */
export const serviceWithRecord: ObjectTable = serviceWith({
  ...condition,
  observedGeneration: [3, omitEmpty(int64)],
  lastTransitionTime: [4, time],
});
