import { strings } from '@angular-devkit/schematics';
import { normalizeToKebabOrSnakeCase } from '@nestjs/schematics';

/** The name of a workflow to generate. */
export interface WorkflowName {
  /** Of its file: `order-refund`. */
  file: string;
  /** `OrderRefundWorkflow`. */
  class: string;
  /** The folders before it: `shop/`, or nothing. */
  folders: string;
}

/**
 * Reads `shop/order-refund`; `OrderRefundWorkflow` and `order-refund.workflow` say the same.
 *
 * @throws when a class cannot be called so
 */
export function workflowName(given: unknown): WorkflowName {
  const parts = String(given ?? '').split('/');
  const last = normalizeToKebabOrSnakeCase(parts.pop() ?? '').replace(/[-_.]?workflow$/, '');
  const folders = parts.filter((part) => part !== '');
  if (
    !/^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/.test(last) ||
    folders.some((folder) => !/^\.?[\w-]+(\.[\w-]+)*$/.test(folder))
  ) {
    throw new Error(
      `A workflow cannot be called ${JSON.stringify(String(given ?? ''))}. Take letters, digits and hyphens, a letter first, with folders ` +
        'before it if you like: order, order-refund, shop/order.',
    );
  }
  return {
    file: last,
    class: `${strings.classify(last)}Workflow`,
    folders: folders.map((folder) => `${normalizeToKebabOrSnakeCase(folder)}/`).join(''),
  };
}
