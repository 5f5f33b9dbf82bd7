import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const zipped = promisify(gzip);

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};
const COMPRESSED_ALREADY = /\.(png|woff2)$/;
/** Below that, a packet is a packet. */
const WORTH_ZIPPING = 1_000;
/** As Vite names what it has built: whatever the file holds, its name is another when that changes. */
const HASHED = /-[\w-]{8}\.\w+$/;

/** A file of the dashboard, in memory. */
export class DashboardFile {
  readonly contentType: string;
  readonly etag: string;
  readonly isHashed: boolean;
  private zip: Promise<Buffer> | undefined;

  constructor(
    private readonly name: string,
    readonly content: Buffer,
  ) {
    this.contentType = CONTENT_TYPES[path.extname(name)] ?? 'application/octet-stream';
    this.etag = `"${createHash('sha256').update(content).digest('base64url').slice(0, 22)}"`;
    this.isHashed = HASHED.test(name);
  }

  /** Null: as it is. Applications need not compress for themselves. */
  gzipped(): Promise<Buffer> | null {
    if (COMPRESSED_ALREADY.test(this.name) || this.content.length < WORTH_ZIPPING) return null;
    return (this.zip ??= zipped(this.content, { level: 9 }));
  }
}

/**
 * What the dashboard was built to. It is read once, as the application boots: a request's path is looked up among the names that there are, and never
 * reaches the file system. Injection token too.
 */
export class DashboardFiles {
  private constructor(
    /** Null: this copy of the package was built without the dashboard. */
    readonly page: DashboardFile | null,
    readonly assets: ReadonlyMap<string, DashboardFile>,
  ) {}

  /** @param folder what Vite has built: `index.html`, and `assets/` without folders of its own */
  static of(folder: string): DashboardFiles {
    const page = path.join(folder, 'index.html');
    if (!existsSync(page)) return new DashboardFiles(null, new Map());
    const assets = path.join(folder, 'assets');
    const names = existsSync(assets) ? readdirSync(assets, { withFileTypes: true }).filter((one) => one.isFile()) : [];
    const read = (...parts: string[]) => new DashboardFile(parts.at(-1)!, readFileSync(path.join(...parts)));
    return new DashboardFiles(read(page), new Map(names.map(({ name }) => [name, read(assets, name)])));
  }
}

/** Where the build of the package puts it. */
export const BUILT_DASHBOARD = path.join(__dirname, '../dashboard');
