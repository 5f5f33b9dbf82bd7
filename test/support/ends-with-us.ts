import { spawn, type ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

/** Ends it, and removes its folder, when our process is gone, however it went: the shell's `read` then meets the end of its input. */
export function endsWithUs({ pid }: ChildProcess, folder: string): ChildProcess {
  const guard = spawn('sh', ['-c', 'read gone; kill -9 "$1"; rm -rf "$2"', 'guard', String(pid), folder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  (guard.stdin as Socket).unref();
  return guard;
}
