//! Enums of choices for the command line.

/// Declares an enum whose variants have a name for the command line and a description, which is also their documentation.
#[macro_export]
macro_rules! choices {
    ($(#[$attribute:meta])* $type:ident { $($variant:ident = $name:literal, $summary:literal;)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum $type {
            $(#[doc = $summary] $variant,)+
        }

        impl $type {
            /// All of them, in the order of the manual.
            pub const ALL: [$type; [$($name),+].len()] = [$($type::$variant),+];

            /// The name for the command line.
            pub const fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }

            /// A description in one line.
            pub const fn summary(self) -> &'static str {
                match self {
                    $($type::$variant => $summary,)+
                }
            }

            /// The choice of a name.
            pub fn parse(name: &str) -> Option<$type> {
                $type::ALL.into_iter().find(|choice| choice.name() == name)
            }
        }
    };
}
