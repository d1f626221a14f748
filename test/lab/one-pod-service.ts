export interface OnePodService {
  readonly name: string;
  readonly clusterIP: string;
  readonly pod: { readonly address: string; readonly node: string };
  /** YAML that goes between braces: "herald.dev/address-pool: block". */
  readonly annotations?: string;
  /** More fields of the spec, as YAML that goes between braces. */
  readonly spec?: string;
}

/** Returns the manifests of a Service of type LoadBalancer in namespace shop (TCP port 80, IPv4) and of its one endpoint. */
export function onePodService({ name, clusterIP, pod, annotations = '', spec = '' }: OnePodService): string {
  return `apiVersion: v1
kind: Service
metadata: { namespace: shop, name: ${name}, annotations: { ${annotations} } }
spec: { type: LoadBalancer, clusterIP: ${clusterIP}, ports: [{ port: 80, targetPort: 8080 }], ${spec} }
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: { namespace: shop, name: ${name}, labels: { kubernetes.io/service-name: ${name} } }
addressType: IPv4
ports: [{ port: 8080 }]
endpoints: [{ addresses: [${pod.address}], nodeName: ${pod.node} }]
`;
}
