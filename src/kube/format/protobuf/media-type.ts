export const protobufType = 'application/vnd.kubernetes.protobuf';

/** True for the Content-Type of an answer in protobuf. That of a watch has the parameter stream=watch. */
export function isProtobuf(contentType: string | undefined): boolean {
  const [mediaType = ''] = (contentType ?? '').split(';', 1);
  return mediaType.trim().toLowerCase() === protobufType;
}
