# Writes the sources as Maven wants them: src/main/java. Run by a custom command of CMakeLists.txt, which
# sets OUTPUT, SOURCES, MODULE and GENERATED.
file(REMOVE_RECURSE ${OUTPUT}/src/main/java)
file(GLOB generated ${GENERATED}/*.java)
file(COPY ${MODULE} DESTINATION ${OUTPUT}/src/main/java)
file(COPY ${SOURCES} ${generated} DESTINATION ${OUTPUT}/src/main/java/org/halftone)
