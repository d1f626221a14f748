import { expect, test } from 'vitest';
import { namesIn } from '../../cluster/images/names.ts';

const manifest = `
	initRegistry = RegistryList{
		PromoterE2eRegistry:      "registry.example/e2e",
		GcRegistry:               "registry.example",
	}
	configs[AgnhostPrev] = Config{list.PromoterE2eRegistry, "agnhost", "2.55"}
	configs[Agnhost] = Config{list.PromoterE2eRegistry, "agnhost", "2.63.0"}
	configs[Pause] = Config{list.GcRegistry, "pause", "3.10.2"}
`;

test('the names of the test images are read from manifest.go', () => {
  expect(namesIn(manifest)).toEqual({ Agnhost: 'registry.example/e2e/agnhost:2.63.0', Pause: 'registry.example/pause:3.10.2' });
});
