/**
 * A button. With only an icon it must be given an `aria-label`.
 *
 * One that is switched off stays where it is and keeps the focus, which a browser would take from it: it does nothing, and says so to screen readers.
 */
import type { ButtonHTMLAttributes, ReactNode, Ref } from 'react';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';
import { useWhyAway } from './server-away.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: 'normal' | 'danger' | 'primary' | 'plain';
  readonly icon?: IconName;
  readonly children?: ReactNode;
  /** It asks for something, so it is off while nothing can be asked. */
  readonly asksServer?: boolean;
  readonly ref?: Ref<HTMLButtonElement>;
  readonly 'data-testid'?: string;
}

export function Button({
  tone = 'normal',
  icon,
  children,
  asksServer = false,
  disabled = false,
  onClick,
  ...rest
}: ButtonProps) {
  const whyAway = useWhyAway();
  const why = asksServer ? whyAway : null;
  const off = disabled || why !== null;
  return (
    <button
      type="button"
      className={children === undefined ? 'button button-icon-only' : 'button'}
      data-tone={tone}
      title={children === undefined ? rest['aria-label'] : undefined}
      {...rest}
      {...(why !== null && { title: why })}
      aria-disabled={off}
      onClick={off ? undefined : onClick}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}
