import { defaultMinor, type Minor } from '../programs.ts';
import { kubernetesImages, type ImageArchive } from './kubernetes.ts';

export { heraldImage, type HeraldImage } from './herald.ts';
export { webServerImage } from './web-server.ts';
export { imageNames, type TestImage } from './names.ts';
export type { ImageArchive } from './kubernetes.ts';

/** Returns the archives of all images that a cluster of this minor and Kubernetes' tests need, besides Herald's. Makes those that are missing. */
export async function imageArchives(minor: Minor = defaultMinor): Promise<ImageArchive[]> {
  return [await kubernetesImages(minor)];
}
