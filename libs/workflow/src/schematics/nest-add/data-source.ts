import ts from 'typescript';
import { calls, hasSpread, listOf, nodesOf, parse, propertyOf, type Source } from '../application/sources.js';

/** Options of a TypeORM DataSource on PostgreSQL, as they are written in a file of the application. */
export interface DataSourceLiteral {
  path: string;
  /** Given to `TypeOrmModule`, which also knows `autoLoadEntities`; else to a DataSource, or to both. */
  ofNest: boolean;
  literal: ts.ObjectLiteralExpression;
}

/** Text that goes into a file, at a position of what it was. */
export interface Insertion {
  position: number;
  text: string;
}

/** The options of default DataSources: object literals with `type: 'postgres'` and no `name`. */
export function dataSourcesIn(source: Source): DataSourceLiteral[] {
  if (!/typeorm/i.test(source.text)) return [];
  return [...nodesOf(parse(source), ts.isObjectLiteralExpression)]
    .filter((literal) => valueOf(literal, 'type') === 'postgres' && !propertyOf(literal, 'name'))
    .map((literal) => ({ path: source.path, ofNest: isOfNest(literal), literal }));
}

/** Whether the file makes a TypeORM DataSource, maybe of options that are written elsewhere. */
export const usesTypeOrm = (source: Source): boolean =>
  calls(source, /\bTypeOrmModule\s*\.\s*forRoot|\bDataSource$|\bDataSource\s*\(/);

const OTHER_DATABASE =
  /^(mysql|mariadb|sqlite|better-sqlite3|sqljs|mssql|oracle|mongodb|cockroachdb|aurora-mysql|sap|spanner)$/;

/** Whether the file has options of a DataSource that is not of PostgreSQL. */
export function usesOtherDatabase(source: Source): boolean {
  if (!/typeorm/i.test(source.text)) return false;
  return [...nodesOf(parse(source), ts.isObjectLiteralExpression)].some((literal) =>
    OTHER_DATABASE.test(String(valueOf(literal, 'type'))),
  );
}

/** How `migrations` names them: by globs (among others), as classes in a list, in what is written elsewhere, or not at all. */
export function migrationsOf({ literal }: DataSourceLiteral): 'globs' | 'classes' | 'elsewhere' | 'none' {
  if (!propertyOf(literal, 'migrations')) return hasSpread(literal) ? 'elsewhere' : 'none';
  const list = listOf(literal, 'migrations');
  if (!list) return 'elsewhere';
  return list.elements.every((element) => ts.isIdentifier(element) || ts.isSpreadElement(element))
    ? 'classes'
    : 'globs';
}

/** Whether migrations run as the application starts, or will when {@link insertMigrations} has made the first ones known. */
export function runsMigrations(dataSource: DataSourceLiteral): boolean {
  const { literal, ofNest } = dataSource;
  return valueOf(literal, 'migrationsRun') === true || (ofNest && migrationsOf(dataSource) === 'none');
}

/** What puts `WorkflowMigrations` into the options, whose `migrations` are a list or nowhere. */
export function insertMigrations({ literal, ofNest }: DataSourceLiteral): Insertion {
  const list = listOf(literal, 'migrations');
  if (list) return first(list, '...WorkflowMigrations');
  const runs = ofNest && !propertyOf(literal, 'migrationsRun') ? ['migrationsRun: true'] : [];
  return last(literal, ['migrations: [...WorkflowMigrations]', ...runs]);
}

/** What puts `WorkflowEntities` into the options, unless they find entities by themselves. */
export function insertEntities({ literal, ofNest }: DataSourceLiteral): (Insertion & { names: boolean }) | undefined {
  if (propertyOf(literal, 'autoLoadEntities')) return;
  const list = listOf(literal, 'entities');
  if (list) return { ...first(list, '...WorkflowEntities'), names: true };
  if (!ofNest || propertyOf(literal, 'entities') || hasSpread(literal)) return;
  return { ...last(literal, ['autoLoadEntities: true']), names: false };
}

function first(list: ts.ArrayLiteralExpression, text: string): Insertion {
  const [next] = list.elements;
  return next
    ? { position: next.getStart(), text: `${text},${separatorBefore(next)}` }
    : { position: list.getStart() + 1, text };
}

function last(literal: ts.ObjectLiteralExpression, properties: string[]): Insertion {
  const property = literal.properties.at(-1)!;
  const separator = separatorBefore(property);
  return { position: property.getEnd(), text: properties.map((one) => `,${separator}${one}`).join('') };
}

/** A line break and an indent, where the node has a line of its own. */
const separatorBefore = (node: ts.Node): string => /^\r?\n\s*/.exec(node.getFullText())?.[0] ?? ' ';

function valueOf(literal: ts.ObjectLiteralExpression, name: string): string | boolean | undefined {
  const property = propertyOf(literal, name);
  if (!property || !ts.isPropertyAssignment(property)) return;
  // `type: 'postgres' as const`
  const value = ts.isAsExpression(property.initializer) ? property.initializer.expression : property.initializer;
  if (value.kind === ts.SyntaxKind.TrueKeyword) return true;
  return ts.isStringLiteralLike(value) ? value.text : undefined;
}

function isOfNest(node: ts.Node): boolean {
  for (let at: ts.Node | undefined = node; at; at = at.parent) {
    if (ts.isCallExpression(at) && /^TypeOrmModule\b/.test(at.expression.getText())) return true;
  }
  return false;
}
