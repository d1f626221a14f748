/**
 * Self-signed certificates for hosts that do not exist, valid for a hundred years, with their keys. An emulator imports them. Made by:
 *
 *   openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 36500 -subj /CN=HOST -addext subjectAltName=DNS:HOST
 */
export interface TestCertificate {
  readonly host: string;
  readonly certificate: string;
  readonly privateKey: string;
}

export const webCertificate: TestCertificate = {
  host: 'web.example.com',
  certificate: `-----BEGIN CERTIFICATE-----
MIIBpjCCAU2gAwIBAgIUJzUD9qmZtdZe0XuoWvXb+GgLWKgwCgYIKoZIzj0EAwIw
GjEYMBYGA1UEAwwPd2ViLmV4YW1wbGUuY29tMCAXDTI2MTEyMTIwMjkwNFoYDzIx
MjYxMDI4MjAyOTA0WjAaMRgwFgYDVQQDDA93ZWIuZXhhbXBsZS5jb20wWTATBgcq
hkjOPQIBBggqhkjOPQMBBwNCAATNiNfm1QXUp8RkxMnpHuoRYQWSI9Du3UWZbFQX
HmNwW8YSZaN6fhg/obDUXSTEmHtX0gme57l7g6rG5NUiq5QJo28wbTAdBgNVHQ4E
FgQUN/kphcSUaBpO2BzhhOaWJA+YRoEwHwYDVR0jBBgwFoAUN/kphcSUaBpO2Bzh
hOaWJA+YRoEwDwYDVR0TAQH/BAUwAwEB/zAaBgNVHREEEzARgg93ZWIuZXhhbXBs
ZS5jb20wCgYIKoZIzj0EAwIDRwAwRAIgfvDRXDpRL+2PxjMbRosAMW4iRjOEBCN9
ndnxQh9Zy8QCIDFC0y6LKpM3GlXDdagOBATm1+ab0HcBpjemQrGOfJtx
-----END CERTIFICATE-----
`,
  privateKey: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDy5WXWDcyh5XtIP3
EXdOEPS4mMOhaMcxM8eSUlMA/FyhRANCAATNiNfm1QXUp8RkxMnpHuoRYQWSI9Du
3UWZbFQXHmNwW8YSZaN6fhg/obDUXSTEmHtX0gme57l7g6rG5NUiq5QJ
-----END PRIVATE KEY-----
`,
};

export const otherCertificate: TestCertificate = {
  host: 'other.example.com',
  certificate: `-----BEGIN CERTIFICATE-----
MIIBrDCCAVOgAwIBAgIUZyNjMBCAq31AlJXLn8LrbvsecokwCgYIKoZIzj0EAwIw
HDEaMBgGA1UEAwwRb3RoZXIuZXhhbXBsZS5jb20wIBcNMjYxMTIxMjAyOTA0WhgP
MjEyNjEwMjgyMDI5MDRaMBwxGjAYBgNVBAMMEW90aGVyLmV4YW1wbGUuY29tMFkw
EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE18fdx1b2L9cyNE4EguaAqKwspObp4Fjy
gV0sO+VK5scjQyqO6kuQkZAI6q14dM4B+RzHL7/2/YbuEzhUSAPYQqNxMG8wHQYD
VR0OBBYEFHfzoox0solPk1/PmKXB0kdGnQF4MB8GA1UdIwQYMBaAFHfzoox0solP
k1/PmKXB0kdGnQF4MA8GA1UdEwEB/wQFMAMBAf8wHAYDVR0RBBUwE4IRb3RoZXIu
ZXhhbXBsZS5jb20wCgYIKoZIzj0EAwIDRwAwRAIgAKtuAwHyMuJfmS1iXDmNSbYS
gTgBD4lj5I7PQ7REg2kCIC0Twn/5Gxq7YjkdJXl2JH2HJQXVImWnykxYsFLhfgIp
-----END CERTIFICATE-----
`,
  privateKey: `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgS/bvQqIbrb+P0DQa
psZ7bfPNYD3pslewS/5dim1O46ehRANCAATXx93HVvYv1zI0TgSC5oCorCyk5ung
WPKBXSw75UrmxyNDKo7qS5CRkAjqrXh0zgH5HMcvv/b9hu4TOFRIA9hC
-----END PRIVATE KEY-----
`,
};
