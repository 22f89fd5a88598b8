//! The macro that declares settings.

/// Declares a struct of settings.
///
/// ```
/// use laggard_settings::Settings;
///
/// laggard_settings::settings! {
///     group "example";
///     /// Thresholds of the example.
///     #[derive(Clone, PartialEq, Debug)]
///     pub struct ExampleSettings {
///         /// Requests beyond median + so many MAD are slow.
///         tail_mad ("tail-mad", "MAD"): f64 = 3.5, at_least(0.0), "measured";
///         /// Requests that a judgment needs.
///         requests_min ("requests-min"): u64 = 10, within(2.0, 1e6), "ours";
///     }
///     other {
///         /// Threads; the answer does not depend on them.
///         threads: usize = 1;
///     }
/// }
///
/// let mut settings = ExampleSettings::default();
/// settings.set("tail-mad", "2.5").unwrap();
/// assert_eq!((settings.tail_mad, settings.requests_min, settings.threads), (2.5, 10, 1));
/// let error = settings.set("tail-mad", "-1").unwrap_err().to_string();
/// assert_eq!(error, "tail-mad is -1; allowed: a number, at least 0; default: 3.5 MAD");
/// let error = settings.set("tail-mda", "2").unwrap_err().to_string();
/// assert_eq!(error, "there is no setting \"tail-mda\"; did you mean tail-mad?");
/// ```
///
/// A row is `field ("name", "unit"): type = default, range, "source of the default";`, unit and source optional; the range is
/// one of the functions that return a [`Range`](crate::Range). `groups`
/// has fields that are settings themselves, `other` fields that are not set by name. Names may have parts, as tables of
/// a configuration file do: `store.keep_for`.
#[macro_export]
macro_rules! settings {
    (
        group $group:literal;
        $(#[$meta:meta])*
        $vis:vis struct $struct:ident {
            $(
                $(#[doc = $doc:literal])+
                $field:ident ($name:literal $(, $unit:literal)?): $type:ty = $default:expr,
                    $range:ident($($limit:expr),*) $(, $source:literal)?;
            )*
        }
        $(groups {
            $( $(#[doc = $group_doc:literal])+ $group_field:ident: $group_type:ty; )*
        })?
        $(other {
            $( $(#[doc = $other_doc:literal])+ $other_field:ident: $other_type:ty = $other_default:expr; )*
        })?
    ) => {
        $(#[$meta])*
        $vis struct $struct {
            $( $(#[doc = $doc])+ pub $field: $type, )*
            $( $( $(#[doc = $group_doc])+ pub $group_field: $group_type, )* )?
            $( $( $(#[doc = $other_doc])+ pub $other_field: $other_type, )* )?
        }

        impl ::std::default::Default for $struct {
            fn default() -> $struct {
                $struct {
                    $( $field: $default, )*
                    $( $( $group_field: ::std::default::Default::default(), )* )?
                    $( $( $other_field: $other_default, )* )?
                }
            }
        }

        impl $crate::Settings for $struct {
            fn visit(&self, see: $crate::SeeSetting<'_>) {
                $( see($crate::__row!($group, $name, ($($unit)?), $range($($limit),*), [$($doc)+], ($($source)?)), &self.$field); )*
                $( $( $crate::Settings::visit(&self.$group_field, see); )* )?
            }

            fn visit_mut(&mut self, see: $crate::SeeSettingMut<'_>) {
                $( see($crate::__row!($group, $name, ($($unit)?), $range($($limit),*), [$($doc)+], ($($source)?)), &mut self.$field); )*
                $( $( $crate::Settings::visit_mut(&mut self.$group_field, see); )* )?
            }
        }
    };
}

#[doc(hidden)]
#[macro_export]
macro_rules! __row {
    ($group:literal, $name:literal, ($($unit:literal)?), $range:ident($($limit:expr),*), [$($doc:literal)+], ($($source:literal)?)) => {{
        static ROW: $crate::SettingRow = $crate::SettingRow {
            group: $group,
            name: $name,
            unit: concat!("" $(, $unit)?),
            range: $crate::$range($($limit),*),
            doc: concat!($($doc),+),
            source: concat!("" $(, $source)?),
        };
        &ROW
    }};
}
