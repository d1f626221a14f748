import { PermittedCollection } from './permitted-collection.ts';

/** Whoever has not applied the RBAC of the component must not wait for ever for his addresses. */
export class MetalLBCollection extends PermittedCollection {
  protected override forbidden(): { readonly about: string; readonly fix: string } {
    return { about: '', fix: 'apply manifests/components/metallb, or set compat: none in HeraldConfig' };
  }
}
