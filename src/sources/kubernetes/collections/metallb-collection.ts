import { PermittedCollection } from './permitted-collection.ts';

/**
 * Operators who have not applied the component's RBAC still get addresses: the missing permission is reported, and nothing waits for it.
 */
export class MetalLBCollection extends PermittedCollection {
  protected override forbidden(): { readonly about: string; readonly fix: string } {
    return { about: '', fix: 'apply manifests/components/metallb, or set compat: none in HeraldConfig' };
  }
}
