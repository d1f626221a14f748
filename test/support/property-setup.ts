import fc from 'fast-check';
import { propertySeed, runs } from './property.ts';

// fast-check runs a property 100 times unless the test says otherwise.
fc.configureGlobal({ numRuns: runs(100), seed: propertySeed });
