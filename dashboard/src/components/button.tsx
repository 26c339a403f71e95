/** A button. With only an icon it must be given an `aria-label`. */
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { Icon } from './icon.tsx';
import type { IconName } from './icon.tsx';

interface ButtonProps extends ButtonHTMLAttributes<HTMLButtonElement> {
  readonly tone?: 'normal' | 'danger' | 'primary' | 'plain';
  readonly icon?: IconName;
  readonly children?: ReactNode;
  readonly 'data-testid'?: string;
}

export function Button({ tone = 'normal', icon, children, ...rest }: ButtonProps) {
  return (
    <button
      type="button"
      className={children === undefined ? 'button button-icon-only' : 'button'}
      data-tone={tone}
      title={children === undefined ? rest['aria-label'] : undefined}
      {...rest}
    >
      {icon === undefined ? null : <Icon name={icon} />}
      {children}
    </button>
  );
}
