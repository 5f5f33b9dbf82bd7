import { findChromium, noChromium } from './chromium.mjs';

describe('the browser of tests, pictures and benchmarks', () => {
  const there =
    (...paths: string[]) =>
    (path: string) =>
      paths.includes(path);

  test('is the one that CHROMIUM_PATH names, else where a package puts it', () => {
    expect(findChromium({ CHROMIUM_PATH: '/opt/chrome' }, there('/usr/bin/chromium', '/opt/chrome'))).toBe(
      '/opt/chrome',
    );
    expect(findChromium({}, there('/usr/bin/google-chrome'))).toBe('/usr/bin/google-chrome');
    expect(findChromium({ CHROMIUM_PATH: '' }, there('/usr/bin/chromium'))).toBe('/usr/bin/chromium');
  });

  test('is none where there is none, or where CHROMIUM_PATH names none: it says so, and how to get one', () => {
    expect(findChromium({}, there())).toBeUndefined();
    expect(noChromium({})).toMatch(/no Chromium.*apt-get install chromium.*CHROMIUM_PATH/);
    expect(findChromium({ CHROMIUM_PATH: '/nowhere' }, there('/usr/bin/chromium'))).toBeUndefined();
    expect(noChromium({ CHROMIUM_PATH: '/nowhere' })).toContain('no file /nowhere');
  });
});
