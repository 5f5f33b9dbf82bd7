/** `@nestjs/swagger`, where the application has it: an optional peer. */
export function loadSwagger<Swagger>(): Swagger | undefined {
  try {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- an optional peer
    return require('@nestjs/swagger') as Swagger;
  } catch {
    return undefined;
  }
}
