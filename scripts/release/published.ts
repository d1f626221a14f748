/**
 * The repository of the image of published releases, without a tag, such as registry.example/herald. The chart lies beside it (chartRepository).
 * Empty: no release is published. `npm run generate` writes the commands of installation on the pages for either case, and
 * `npm run release` takes it where --image is missing.
 */
export const publishedImage: string = '';
