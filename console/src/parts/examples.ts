/** Manifests that empty views show. */
export const servicesExample = `apiVersion: v1
kind: Service
metadata:
  name: web
spec:
  type: LoadBalancer
  selector:
    app: web
  ports:
    - port: 80
      targetPort: 8080
`;

export const poolExample = `apiVersion: herald.dev/v1alpha1
kind: IPAddressPool
metadata:
  name: public
spec:
  addresses: [192.0.2.0/24]
---
apiVersion: herald.dev/v1alpha1
kind: BGPAdvertisement
metadata:
  name: public
spec:
  ipAddressPools: [public]
`;

export const peerExample = `apiVersion: herald.dev/v1alpha1
kind: BGPPeer
metadata:
  name: tor1
spec:
  myASN: 64512
  peerASN: 64513
  peerAddress: 198.51.100.1
`;
