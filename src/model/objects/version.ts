/** The version of this program, as in package.json. A test keeps the two equal. */
export const version = '0.2.0';
